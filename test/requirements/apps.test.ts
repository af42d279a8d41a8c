import { runRequirements } from "./requirement.ts";
import { apps } from "./sections/apps.ts";

runRequirements("apps", apps);
