// @ts-check
// Puts built files in the place of earlier ones, one by one, so that a program that starts or runs meanwhile finds each.
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Calls `write` with an empty folder beside the packages, moves the files that it wrote to `folder`, and then removes the
 * files of `folder` that `write` did not write and `isStale` names. A build that fails changes nothing.
 * @template T
 * @param {string} folder
 * @param {{ root: string; order: (file: string) => number; isStale: (file: string) => boolean }} how files with a higher order
 * are moved later, so that what a file loads is there before it
 * @param {(next: string) => Promise<T>} write
 * @returns {Promise<T>}
 */
export async function swapIn(folder, { root, order, isStale }, write) {
  const next = join(root, `node_modules/.cache/portolan/next-${process.pid}`);
  rmSync(next, { recursive: true, force: true });
  mkdirSync(next, { recursive: true });
  try {
    const given = await write(next);
    const written = filesIn(next).sort((one, other) => order(one) - order(other));
    for (const file of written) {
      const place = join(folder, file);
      if (existsSync(place)) chmodSync(join(next, file), statSync(place).mode);
      mkdirSync(dirname(place), { recursive: true });
      renameSync(join(next, file), place);
    }
    const kept = new Set(written);
    for (const file of filesIn(folder)) {
      if (!kept.has(file) && isStale(file)) rmSync(join(folder, file), { force: true });
    }
    return given;
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** @param {string} folder */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll("\\", "/"),
    );
}
