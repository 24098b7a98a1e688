/**
 * Every node that some others need, each once and after its children: depth first, without recursion, so that a graph may be
 * deeper than the call stack.
 *
 * @param childrenOf Called once for each node, before its children are visited.
 */
export function postOrder<N>(roots: Iterable<N>, childrenOf: (node: N) => readonly N[]): N[] {
  const done = new Set<N>();
  const path: { readonly node: N; readonly children: readonly N[]; next: number }[] = [];
  const enter = (node: N) => {
    if (!done.has(node)) path.push({ node, children: childrenOf(node), next: 0 });
  };
  for (const root of roots) {
    enter(root);
    while (path.length > 0) {
      const last = path[path.length - 1];
      if (last.next < last.children.length) enter(last.children[last.next++]);
      else {
        done.add(last.node);
        path.pop();
      }
    }
  }
  return [...done];
}
