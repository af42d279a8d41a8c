const maxPathLength = 4_096;
const devices = /^(con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;
const forbidden = new Set('<>:"|?*');

/** What files are called while they are being written. */
export const draftPrefix = ".portolan-draft-";

/** Why a path cannot be one at all, or undefined. */
export function pathProblem(path: string): string | undefined {
  if (path.includes("\0")) return "holds a zero byte";
  return path.length > maxPathLength ? `is longer than ${maxPathLength} characters` : undefined;
}

/**
 * Why a name is not to be used, or undefined. Windows gives some names a second meaning: devices, streams behind a
 * colon, short forms, and dots and spaces at the end that it drops.
 */
export function nameProblem(name: string, isHiddenShown: boolean, platform: string): string | undefined {
  if (name.startsWith(draftPrefix)) return "is a file that is being written";
  if (name.startsWith(".") && !isHiddenShown) return "is hidden: names that begin with a dot are not served";
  if (platform !== "win32") return undefined;
  if (devices.test(name)) return "is a device on Windows";
  if ([...name].some((character) => character < " " || forbidden.has(character)))
    return "has a character that Windows forbids in names";
  if (/[. ]$/.test(name)) return "ends with a dot or a space, which Windows drops";
  return /~\d/.test(name) ? "looks like a short name of Windows; give the long one" : undefined;
}
