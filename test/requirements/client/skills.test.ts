import { runRequirements } from "./requirement.ts";
import { skillRequirements } from "./sections/skills.ts";

runRequirements("skills", skillRequirements);
