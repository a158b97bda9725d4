// The page's elements, by id. An absent one is a broken page.
export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no element "${id}".`);
  return found as T;
}

// Touches the page only when the text changed.
export function setText(id: string, text: string): void {
  const target = element(id);
  if (target.textContent !== text) target.textContent = text;
}

export function setHidden(id: string, hidden: boolean): void {
  element(id).hidden = hidden;
}
