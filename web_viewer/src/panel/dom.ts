// Returns the element with this id. Throws if there is none.
export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no element "${id}".`);
  return found as T;
}

// Sets the text of an element. Leaves the DOM alone if it is unchanged.
export function setText(id: string, text: string): void {
  const target = element(id);
  if (target.textContent !== text) target.textContent = text;
}

export function setHidden(id: string, hidden: boolean): void {
  element(id).hidden = hidden;
}
