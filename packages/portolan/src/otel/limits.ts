/** Characters of an attribute whose value a peer chooses: the name of a tool, a URI. */
export const maxAttributeCharacters = 1_000;
/** Characters of recorded arguments, and of a recorded result. */
export const maxContentCharacters = 16_000;
