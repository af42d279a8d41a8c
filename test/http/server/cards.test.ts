import { runRequirements } from "./requirement.ts";
import { cards } from "./sections/cards.ts";

runRequirements("cards", cards);
