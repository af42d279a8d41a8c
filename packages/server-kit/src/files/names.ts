const maxPathLength = 4_096;
const devices = /^(con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;
const forbidden = new Set('<>:"|?*');

/** Name prefix of files that are being written. */
export const draftPrefix = ".portolan-draft-";

/** Returns why a path is invalid; undefined if it is valid. */
export function pathProblem(path: string): string | undefined {
  if (path.includes("\0")) return "contains a zero byte";
  return path.length > maxPathLength ? `is longer than ${maxPathLength} characters` : undefined;
}

/**
 * Returns why a name must not be used; undefined if it is fine. Windows gives some names a second meaning: devices,
 * streams after a colon, short names, and dots and spaces at the end, which it drops.
 */
export function nameProblem(name: string, isHiddenShown: boolean, platform: string): string | undefined {
  if (name.startsWith(draftPrefix)) return "is a file that is being written";
  if (name.startsWith(".") && !isHiddenShown) return "is hidden: names that start with a dot are not served";
  if (platform !== "win32") return undefined;
  if (devices.test(name)) return "is a device on Windows";
  if ([...name].some((character) => character < " " || forbidden.has(character)))
    return "contains a character that Windows does not allow in names";
  if (/[. ]$/.test(name)) return "ends with a dot or a space, which Windows drops";
  return /~\d/.test(name) ? "looks like a Windows short name; use the long one" : undefined;
}
