export interface Piece {
  readonly text: string;
  readonly style: string;
}
export function captureScreen(): Promise<Piece[][]>;
export function textOf(lines: readonly Piece[][]): string;
export function settle(text: string): string;
export function toSvg(lines: readonly Piece[][]): string;
export function textInSvg(svg: string): string;
