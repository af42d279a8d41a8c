/** Reduces the colours of a PNG with eight bits per channel, as browsers write it. */
export function reduceColours(png: Buffer): Buffer;
/** Reads a PNG with red, green and blue, whose opacity is ignored, or with a palette. Each pixel is one number. */
export function readPng(png: Buffer): { width: number; height: number; pixels: Uint32Array };
