/** The media types of the files that skills usually have, by the ends of their names. */
const mediaTypes: { readonly [end: string]: string } = {
  css: "text/css",
  csv: "text/csv",
  gif: "image/gif",
  htm: "text/html",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript",
  json: "application/json",
  md: "text/markdown",
  mjs: "text/javascript",
  pdf: "application/pdf",
  png: "image/png",
  py: "text/x-python",
  sh: "application/x-sh",
  svg: "image/svg+xml",
  toml: "application/toml",
  ts: "text/typescript",
  txt: "text/plain",
  webp: "image/webp",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip",
};

/** Returns the media type of a file by its name; undefined if the name tells nothing. */
export function mediaTypeOf(uri: string): string | undefined {
  const end = /\.([a-z]+)$/i.exec(uri)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(mediaTypes, end) ? mediaTypes[end] : undefined;
}
