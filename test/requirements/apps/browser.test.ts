import { browserRequirements } from "./browser-section.ts";
import { runRequirements } from "./requirement.ts";

runRequirements("apps in a browser", browserRequirements);
