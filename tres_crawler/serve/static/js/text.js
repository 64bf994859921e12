// Crawled text for a line of the page: without what would turn, hide or break the words around it.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/g;

export const clean = (text) => (text ?? "").replace(CONTROL, " ").trim();
