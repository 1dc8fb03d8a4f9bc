// Where an answer is: in words, as a link, and as a citation to copy.

import { make } from "./dom.js";

// "uploaded:" stays, so that no upload passes for a file of the server.
const baseName = (document) => document.replace(/^(uploaded:)?.*\//s, "$1");

const NAME_BEHIND = /^\s*[—–|:·-]/u;

// The title of a web page often begins with its first heading, which is then left out.
export function getPath({ document, title, headings }) {
  const [first, ...rest] = headings ?? [];
  const isRepeated = first && title?.startsWith(first) && NAME_BEHIND.test(title.slice(first.length));
  const shown = isRepeated ? rest : [first, ...rest];
  return [title || baseName(document ?? ""), ...shown].filter(Boolean);
}

export const getPlace = ({ page, line }) =>
  page ? `page ${page}` : line ? `line ${line}` : "";

const CHANGES = { changed: "has changed since it was indexed", gone: "is gone since it was indexed" };

// What has become of a file since it was indexed; empty if nothing has.
export const describeFile = (state) => (CHANGES[state] ? `The file ${CHANGES[state]}.` : "");

// The file's name and the place in it; the name is left out where it is the title already.
export function getFile(source) {
  const name = source.title ? baseName(source.document ?? "") : "";
  return [name, getPlace(source)].filter(Boolean).join(", ");
}

export const makeDocumentUrl = (id, start) =>
  `./?${new URLSearchParams({ document: id, ...(start !== undefined && { at: start }) })}`;

// Metadata is untrusted: only links to web pages are made clickable.
export function getWebUrl(url) {
  if (!url || !URL.canParse(url)) return null;
  return ["http:", "https:"].includes(new URL(url).protocol) ? url : null;
}

// The path of headings, as a link to the document where it is in the index.
export function makeSource(source) {
  const path = getPath(source);
  if (!path.length) return null;
  const parts = path.flatMap((part, place) => [
    place ? make("span", { class: "separator", "aria-hidden": true }, " › ") : null,
    make(place ? "span" : "cite", {}, part),
  ]);
  if (!Number.isSafeInteger(source.document_id)) {
    return make("span", { class: "source", title: source.document }, ...parts);
  }
  const href = makeDocumentUrl(source.document_id, source.start);
  return make("a", { class: "source", href, title: source.document }, ...parts);
}

// Two lines: the sentence, and where it is from.
export function cite({ sentence, source }) {
  const where = [getWebUrl(source.url) ?? baseName(source.document ?? ""), getPlace(source)];
  const path = getPath(source).join(" › ");
  const place = where.filter(Boolean).join(", ");
  const origin = path && place && path !== place ? `${path} (${place})` : path || place;
  return origin ? `${sentence}\n— ${origin}` : sentence;
}

// Browsers give the clipboard to pages of https and of this machine only.
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = make("textarea", { class: "unseen", "aria-hidden": true });
  box.value = text;
  document.body.append(box);
  box.select();
  const isCopied = document.execCommand("copy");
  box.remove();
  if (!isCopied) throw new Error("the browser refused");
}
