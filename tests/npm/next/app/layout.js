// Without an icon, the browser asks for /favicon.ico.
export const metadata = { title: "Predictions in a component", icons: "data:," };

export default function Layout({ children }) {
  return <html lang="en"><body>{children}</body></html>;
}
