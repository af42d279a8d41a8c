export interface Program {
  readonly name: string;
  readonly commands: readonly string[];
  readonly titles?: RegExp;
}
export const programs: readonly Program[];
export function findProgram(name: string, env?: NodeJS.ProcessEnv): string | undefined;
export function isOnPath(command: string, env?: NodeJS.ProcessEnv): boolean;
export function installCommand(program: Program): string;
export function missingFor(file: string, env?: NodeJS.ProcessEnv): readonly Program[];
