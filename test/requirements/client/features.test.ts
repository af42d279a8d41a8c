import { runRequirements } from "./requirement.ts";
import { content } from "./sections/content.ts";
import { features } from "./sections/features.ts";

runRequirements("resources, prompts and completion", features);
runRequirements("content", content);
