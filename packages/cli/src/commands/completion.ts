import type { Context, Shown } from "../command.ts";
import { Failure } from "../failure.ts";

/**
 * What each shell loads. The words so far go to `complete-words`, the last one behind a colon: some shells lose an empty
 * word. Nothing that comes back is looked at as code.
 */
const scripts: { readonly [shell: string]: string } = {
  bash: `# portolan completion for bash: eval "$(portolan completion bash)"
_portolan() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(portolan complete-words -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" ":\${COMP_WORDS[COMP_CWORD]}" 2>/dev/null)
}
complete -o default -F _portolan portolan`,
  zsh: `#compdef portolan
# portolan completion for zsh: eval "$(portolan completion zsh)"
_portolan() {
  local -a found
  found=("\${(@f)$(portolan complete-words -- "\${(@)words[2,CURRENT-1]}" ":\${words[CURRENT]}" 2>/dev/null)}")
  found=("\${(@)found:#}")
  if (( \${#found} )); then compadd -a found; else _files; fi
}
if [ "$funcstack[1]" = "_portolan" ]; then _portolan "$@"; else compdef _portolan portolan; fi`,
  fish: `# portolan completion for fish: portolan completion fish | source
function __portolan_words
  set -l before (commandline -opc)
  portolan complete-words -- $before[2..-1] ":"(commandline -ct | string collect --allow-empty) 2>/dev/null
end
complete -c portolan -a '(__portolan_words)'`,
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

/** Prints what a shell needs to complete command lines of this program. */
export async function run({ print }: Context, [shell = ""]: readonly string[]): Promise<Shown | undefined> {
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined) {
    throw new Failure("usage", `expected ${Object.keys(scripts).join(", ")}, got ${JSON.stringify(shell)}`, {
      next: 'eval "$(portolan completion bash)"',
    });
  }
  // A shell reads it, in a pipe as well.
  print(script);
  return undefined;
}
