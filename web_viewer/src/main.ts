// Entry point. The link starts first: it connects while the page loads and the graphics start, which takes seconds without
// a GPU.
import './style.css';
import './link/started';

void import('./page');
