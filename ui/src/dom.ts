// Making elements. Text only ever becomes text nodes: strings come from outside.

type Child = Node | string | undefined | false
type Attributes = Record<string, string | number | boolean | undefined | ((e: Event) => void)>

/**
 * Returns a new element. A string child becomes a text node, shown by visible. An
 * attribute that is a function listens to the event of its name, true is an empty
 * attribute, and undefined and false are left out, also as children.
 */
export function h<T extends keyof HTMLElementTagNameMap>(tag: T, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[T] {
  return fill(document.createElement(tag), attributes, children)
}

/** Returns a new element of a drawing; the same as h otherwise. */
export function svg<T extends keyof SVGElementTagNameMap>(tag: T, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[T] {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children)
}

/**
 * Returns text with control characters, except tabs and line feeds, and those that change
 * the direction of reading replaced by escapes such as \x1b and \u202e.
 */
export function visible(text: string): string {
  return text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0).toString(16)
    return c < '\x80' ? `\\x${code.padStart(2, '0')}` : `\\u${code.padStart(4, '0')}`
  })
}

function fill<T extends Element>(e: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') e.addEventListener(name, value)
    else if (value !== undefined && value !== false) e.setAttribute(name, value === true ? '' : visible(String(value)))
  }
  for (const c of children) if (c !== undefined && c !== false) e.append(typeof c === 'string' ? visible(c) : c)
  return e
}
