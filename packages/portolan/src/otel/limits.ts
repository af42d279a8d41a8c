/** Characters of an attribute whose value a peer chooses: the name of a tool, a URI, the id of a request. */
export const maxAttributeCharacters = 1_000;
/** Characters of recorded arguments, of a recorded result, and of a recorded message. */
export const maxContentCharacters = 16_000;
/** Tools and prompts that metrics name. Further ones are measured without their names. */
export const maxMeasuredNames = 1_000;
