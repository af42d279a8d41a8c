import { runRequirements } from "./requirement.ts";
import { features } from "./sections/features.ts";

runRequirements("resources, prompts and completion", features);
