import { runRequirements } from "./requirement.ts";
import { skills } from "./sections/skills.ts";

runRequirements("skills", skills);
