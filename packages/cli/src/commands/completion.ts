import type { CommandContext, CommandResult } from "../command.ts";
import { Failure } from "../failure.ts";

/**
 * The completion scripts. Each passes the typed words to `complete-words`, the last one after a colon, because some
 * shells drop an empty word. The output is never evaluated as code.
 */
const scripts: { readonly [shell: string]: string } = {
  // Bash splits words at = and :, so the script joins them, and returns only the last part of each proposal.
  bash: `# portolan completion for bash: eval "$(portolan completion bash)"
_portolan() {
  local rest="\${COMP_LINE:0:COMP_POINT}" word="" gap at part
  local -a before=()
  rest="\${rest#*"\${COMP_WORDS[0]}"}"
  for (( at = 1; at <= COMP_CWORD; at++ )); do
    gap="\${rest%%[^[:space:]]*}"
    rest="\${rest#"$gap"}"
    part="\${COMP_WORDS[at]}"
    if (( at == COMP_CWORD )); then part="$rest"; fi
    rest="\${rest#"$part"}"
    if [[ -z "$gap" ]]; then
      word+="$part"
    else
      if (( at > 1 )); then before+=("$word"); fi
      word="$part"
    fi
  done
  local kept="" found
  if [[ "$word" == *[=:]* ]]; then kept="\${word%"\${word##*[=:]}"}"; fi
  COMPREPLY=()
  while IFS= read -r found; do
    COMPREPLY+=("\${found#"$kept"}")
  done < <(portolan complete-words -- \${before[@]+"\${before[@]}"} ":$word" 2>/dev/null)
  if [[ "\${#COMPREPLY[@]}" == 1 && "\${COMPREPLY[0]}" == *[=:/] ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _portolan portolan`,
  zsh: `#compdef portolan
# portolan completion for zsh: eval "$(portolan completion zsh)"
_portolan() {
  local -a found open
  found=("\${(@f)$(portolan complete-words -- "\${(@Q)words[2,CURRENT-1]}" ":$PREFIX" 2>/dev/null)}")
  found=("\${(@)found:#}")
  open=("\${(@M)found:#*[=:/]}")
  found=("\${(@)found:#*[=:/]}")
  if (( ! \${#found} && ! \${#open} )); then _files; return; fi
  compadd -S '' -a open
  compadd -a found
}
if [ "$funcstack[1]" = "_portolan" ]; then _portolan "$@"; else compdef _portolan portolan; fi`,
  fish: `# portolan completion for fish: portolan completion fish | source
function __portolan_words
  set -l before (commandline -opc)
  set -l word (commandline -ct | string collect --allow-empty)
  set -l found (portolan complete-words -- $before[2..-1] ":$word" 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path "$word"
  end
end
complete -c portolan -f -a '(__portolan_words)'`,
  powershell: `# portolan completion for PowerShell: portolan completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName portolan -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $before = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($wordToComplete -ne '' -and $before.Count -gt 0) { $before = @($before | Select-Object -SkipLast 1) }
  portolan complete-words -- @before ":$wordToComplete" 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}`,
};

/** Prints the completion script of a shell. */
export async function run(
  { print }: CommandContext,
  [shell = ""]: readonly string[],
): Promise<CommandResult | undefined> {
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined) {
    throw new Failure(
      "usage",
      `there is no completion for ${JSON.stringify(shell)}; there is one for ${Object.keys(scripts).join(", ")}`,
      {
        next: "portolan completion --help",
      },
    );
  }
  // Printed as it is, also in a pipe: a shell reads it.
  print(script);
  return undefined;
}
