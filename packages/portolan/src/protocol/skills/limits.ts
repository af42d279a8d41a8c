// Bounds of one skill, on servers and clients alike. None can be changed.

/** Files of one skill. The specification lets no host refuse fewer. */
export const maxSkillFiles = 512;
/** Bytes of all files of one skill. The specification lets no host refuse fewer. */
export const maxSkillBytes: number = 16 * 1024 * 1024;
/** Characters of the frontmatter of a skill, which lists carry. */
export const maxFrontmatterChars: number = 64 * 1024;
/** Nested levels in a frontmatter. */
export const maxFrontmatterDepth = 32;
