/** Compiles a pattern in which `*` stands for any characters; the time of a test grows with the text alone. */
export function compileGlob(pattern: string): (text: string) => boolean {
  const [first = "", ...rest] = pattern.split(/\*+/);
  const last = rest.pop();
  if (last === undefined) return (text) => text === first;
  if (rest.length === 0) {
    if (first === "" && last === "") return () => true;
    if (last === "") return (text) => text.startsWith(first);
    if (first === "") return (text) => text.endsWith(last);
  }
  const shortest = first.length + last.length;
  return (text) => {
    if (text.length < shortest || !text.startsWith(first) || !text.endsWith(last)) return false;
    const end = text.length - last.length;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found === -1 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}
