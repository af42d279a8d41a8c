import type { Requirement } from "../requirement.ts";
import { base } from "./base.ts";
import { baseFaults } from "./base-faults.ts";

/** All requirements by section. */
export const sections: { readonly [section: string]: readonly Requirement[] } = { base, baseFaults };
