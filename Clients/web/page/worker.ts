/** Registers the service worker, by which the page opens without a connection. */
export function keepPage(): void {
  if (!("serviceWorker" in navigator)) return;
  void navigator.serviceWorker.register(trusted("/service-worker.js") as string).catch((error) => {
    console.warn("The page is not kept for later:", error);
  });
}

/** The only URL of a script that this page ever loads by script: the policy allows no other. */
function trusted(url: string): unknown {
  const factory = (globalThis as unknown as { trustedTypes?: TrustedTypes }).trustedTypes;
  if (!factory) return url;
  const policy = factory.createPolicy("parley", {
    createScriptURL: (given) => {
      if (given !== "/service-worker.js") throw new TypeError("no other script is loaded");
      return given;
    },
  });
  return policy.createScriptURL(url);
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): unknown };
}
