// Replaces a folder and a file of the served folder with links that lead outside, and back, as fast as it can.
// Run: node swapper.mjs <served> <outside>
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [, , served = "", outside = ""] = process.argv;
// Below the served folder, so that its folders never leave it.
const stash = join(served, "stash");
const door = join(served, "door");
const file = join(served, "file.txt");
mkdirSync(stash);
symlinkSync(outside, join(stash, "link"));

let swaps = 0;
process.on("message", () => process.send?.({ swaps }));
process.on("disconnect", () => process.exit());

function swapFolder() {
  renameSync(door, join(stash, "door"));
  try {
    renameSync(join(stash, "link"), door);
    renameSync(door, join(stash, "link"));
    swaps += 1;
  } catch {
    // The server created a folder of this name in between.
    rmSync(door, { recursive: true });
  }
  renameSync(join(stash, "door"), door);
}

/** Replaces atomically, so that the file always exists. */
function swapFile() {
  symlinkSync(join(outside, "file.txt"), join(stash, "file"));
  renameSync(join(stash, "file"), file);
  writeFileSync(join(stash, "file"), "inside");
  renameSync(join(stash, "file"), file);
  swaps += 1;
}

function swap() {
  for (let round = 0; round < 12; round += 1) {
    attempt(swapFolder);
    attempt(swapFile);
  }
  // Leave CPU time for the server.
  setTimeout(swap, 1);
}

/** Retries a round that the server's own writes disturb. */
function attempt(work) {
  try {
    work();
  } catch (reason) {
    if (!("syscall" in reason)) throw reason;
  }
}

swap();
