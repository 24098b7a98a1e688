/**
 * All nodes that some nodes depend on, each once and after its children. Depth-first without recursion,
 * because a graph can be deeper than the call stack.
 *
 * @param childrenOf Called once per node, before its children are visited.
 */
export function postOrder<N>(roots: Iterable<N>, childrenOf: (node: N) => readonly N[]): N[] {
  const done = new Set<N>();
  const path: { readonly node: N; readonly children: readonly N[]; next: number }[] = [];
  const enter = (node: N) => {
    if (done.has(node)) return;
    const children = childrenOf(node);
    if (children.length === 0) done.add(node);
    else path.push({ node, children, next: 0 });
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
