export { type SkillsOptions, skills } from "./extension.ts";
export { type SkillsOfOptions, skillsOf } from "./snapshot.ts";
export type { Skill, SkillFile, SkillFrontmatter, SkillPage, SkillRequest, SkillSource } from "./source.ts";
