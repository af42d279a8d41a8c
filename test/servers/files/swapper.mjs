// Swaps, as fast as it can, a folder and a file of the served folder for links that lead outside, and back.
// Run: node swapper.mjs <served> <outside>
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [, , served = "", outside = ""] = process.argv;
// Below the served folder, so that no folder of it ever leaves it.
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
    // The server made a folder of this name in the moment between.
    rmSync(door, { recursive: true });
  }
  renameSync(join(stash, "door"), door);
}

/** Without a moment in which there is no file. */
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
  // The server needs its share of the processor.
  setTimeout(swap, 1);
}

/** The server writes here, too: a round that it disturbs is begun anew. */
function attempt(work) {
  try {
    work();
  } catch (reason) {
    if (!("syscall" in reason)) throw reason;
  }
}

swap();
