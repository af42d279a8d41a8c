/** Bounds of what `add` reads from strangers: cards, registry entries and bundles. None can be changed. */

/** A server card, or an answer of a registry. */
export const maxDocumentBytes: number = 1024 * 1024;

/** Time for a card, or for an answer of a registry. */
export const documentMs = 15_000;

/** Time in which the address of a server itself has to answer with a card. */
export const guessMs = 3_000;

/** Servers of a registry that are suggested for a name it does not have. */
export const maxRegistryMatches = 5;

/** A bundle. It is read as a whole. */
export const maxBundleBytes: number = 256 * 1024 * 1024;

/** Time for the download of a bundle. */
export const bundleMs: number = 10 * 60_000;

/** All files of a bundle together. */
export const maxUnpackedBytes: number = 1024 * 1024 * 1024;

/** Files and folders of a bundle. */
export const maxBundleFiles = 50_000;

/** The path of one file in a bundle. Systems allow 255 bytes for each part of it. */
export const maxBundlePathBytes = 1_024;

/** Folders within folders in a bundle. */
export const maxBundleDepth = 64;

/** The manifest of a bundle. */
export const maxManifestBytes: number = 1024 * 1024;

/** The rules of `.mcpbignore`. */
export const maxIgnoreBytes: number = 64 * 1024;
