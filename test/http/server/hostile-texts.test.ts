import { runRequirements } from "./requirement.ts";
import { hostileTexts } from "./sections/hostile-texts.ts";

runRequirements("hostile-texts", hostileTexts);
