// The types that TypeScript infers for a user's exports are named through this entry, so a program must have it.
export type {} from "../index.ts";

export { type SkillsOptions, skills } from "./extension.ts";
export { type SkillsOfOptions, skillsOf } from "./snapshot.ts";
export type { Skill, SkillFile, SkillFrontmatter, SkillPage, SkillRequest, SkillSource } from "./source.ts";
