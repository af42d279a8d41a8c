import type { Requirement } from "../requirement.ts";

/** All requirements by section. */
export const sections: { readonly [section: string]: readonly Requirement[] } = {};
