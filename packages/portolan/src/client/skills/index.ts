export type { Skill, SkillFile, SkillFrontmatter } from "../../protocol/skills/skill.ts";
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
