import type { Entered, MintedCode } from "../contract/act.ts";
import { objectOf } from "../http/body.ts";
import { StudioError } from "../http/error.ts";
import { requiredText } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";

/** POST /api/enter: exchanges the code of an address for the token. Each code works once. */
export async function enter({ studio, request }: Call): Promise<Answer<Entered>> {
  const code = requiredText(await objectOf(request), "code");
  const { access } = studio;
  if (access?.redeem(code)) return json<Entered>({ token: access.token });
  const message = "This address was used already, or Studio was restarted. Open a new address, or enter the token.";
  throw new StudioError({ code: "code_used", status: 401, message });
}

/** POST /api/codes: a code for an address that cannot carry a header, such as a download. */
export async function mintCode({ studio }: Call): Promise<Answer<MintedCode>> {
  return json<MintedCode>({ code: studio.access?.mintCode() ?? "" }, 201);
}
