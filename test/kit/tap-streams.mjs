// How to hear what goes through a stream without getting in its way.

/** Puts something around a method of one object. */
export function wrap(object, method, around) {
  const original = object[method];
  object[method] = function (...args) {
    return around(() => original.apply(this, args), ...args);
  };
}

/** Hears chunks, and tells of each part that has ended. */
export function splitter(separator, tell) {
  const decoder = new TextDecoder();
  let rest = "";
  return (chunk) => {
    const text = typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    const parts = `${rest}${text}`.split(separator);
    rest = parts.pop();
    for (const part of parts) tell(part);
  };
}
