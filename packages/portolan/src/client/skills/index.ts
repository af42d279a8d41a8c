// The types that TypeScript infers for a user's exports are named through this entry, so a program must have it.

export type { Skill, SkillFile, SkillFrontmatter } from "../../protocol/skills/skill.ts";
export type {} from "../index.ts";
export {
  getSkill,
  hasSkills,
  listSkills,
  type OpenSkill,
  openSkill,
  readSkillFile,
  readSkillFolder,
  type SkillContent,
  skills,
} from "./skills.ts";
export { checkSkill, SkillError, type SkillMismatch } from "./verify.ts";
