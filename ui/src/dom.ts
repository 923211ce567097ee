// Making elements. Text only ever becomes text nodes: strings come from outside.

type Child = Node | string | undefined | false
type Attributes = Record<string, string | number | boolean | undefined | ((e: Event) => void)>

/** An element; an attribute that is a function listens to the event of its name. */
export function h<T extends keyof HTMLElementTagNameMap>(tag: T, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[T] {
  return fill(document.createElement(tag), attributes, children)
}

/** The same for a drawing. */
export function svg<T extends keyof SVGElementTagNameMap>(tag: T, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[T] {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children)
}

function fill<T extends Element>(e: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') e.addEventListener(name, value)
    else if (value !== undefined && value !== false) e.setAttribute(name, value === true ? '' : String(value))
  }
  e.append(...children.filter((c) => c !== undefined && c !== false))
  return e
}
