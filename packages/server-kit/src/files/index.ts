export { alreadyThere, moveToFree, statOf, writeAtomically } from "./atomic-write.ts";
export { linesOf, unifiedDiff, withoutEnding } from "./diff.ts";
export { type Folder, PathChanged } from "./folder.ts";
export { fullPath, IsFolderError, isTopName, Jail, notThere, type OpenFile, openRegular } from "./jail.ts";
export { clientFolders, joined, narrowed, openRoots, type Root, segmentsBelow, uriOf } from "./roots.ts";
export { explainSystemErrors, systemCodeOf, toToolError } from "./system-errors.ts";
export { type Entry, entriesOf, type Kind, kindOf, pageOf, type WalkEnd, type WalkedEntry, walk } from "./walk.ts";
