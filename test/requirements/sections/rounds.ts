import type { Requirement } from "../requirement.ts";
import { answers } from "./rounds/answers.ts";
import { handlers } from "./rounds/handlers.ts";
import { questions } from "./rounds/questions.ts";
import { states } from "./rounds/states.ts";

/** Requirements on multi round trips. */
export const rounds: readonly Requirement[] = [...questions, ...answers, ...states, ...handlers];
