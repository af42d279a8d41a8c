// Observes the data of a stream without changing it.

/** Wraps a method of one object. */
export function wrap(object, method, around) {
  const original = object[method];
  object[method] = function (...args) {
    return around(() => original.apply(this, args), ...args);
  };
}

/** Returns a function that takes chunks and calls `onPart` with each complete part. */
export function splitter(separator, onPart) {
  const decoder = new TextDecoder();
  let rest = "";
  return (chunk) => {
    const text = typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    const parts = `${rest}${text}`.split(separator);
    rest = parts.pop();
    for (const part of parts) onPart(part);
  };
}
