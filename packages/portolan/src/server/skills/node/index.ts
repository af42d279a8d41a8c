export { type FolderSkills, type SkillsFromOptions, skillsFrom } from "./folder.ts";
