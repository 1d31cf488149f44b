// What would help: each advice with its evidence, what it is worth, how to check it and what to try.
import { empty, h, lead, section } from "../dom.js";
import { formatTime } from "../pure/format.js";
import { firstAnswers } from "../pure/answers.js";
import { isDescending } from "../pure/order.js";

export function drawHelp(doc) {
  const { body } = section("help");
  const { advice: found = [], unanswered = [], critical_path: paths = [] } = doc;
  // The path of a recording without steps is of no step.
  const isWhole = paths.some(({ step }) => step == null);
  const [of, per] = isWhole ? ["of the recording", "in all"] : ["a step", "a step"];
  const order = isDescending(found, (one) => one.worth_ns_per_step) ? "Worth most first" : "Single ranks first, then by worth";
  const first = firstAnswers(doc).map(({ title }) => title);
  const others = found.filter(({ title }) => !first.includes(title));
  if (found.length === 0) body.append(empty("Nothing was found that would make a step shorter by enough to say so, or answers were left out."));
  else body.append(
    lead(`${order}. Worth is wall time ${of}: the recorded job, run again without the cause. What two of them save does not add up.${others.length < found.length ? " What stands at the top of the page is not repeated." : ""}`),
    h("ol", { class: "advice" }, ...others.map((one) => advice(one, per))));
  if (unanswered.length > 0) body.append(h("h3", {}, "What cannot be told"), h("ul", { class: "plain" }, ...unanswered.map((text) => h("li", {}, text))));
}

function advice({ title, worth_ns_per_step: worth, lo_ns: lo, hi_ns: hi, evidence, check, remedy }, per) {
  const range = lo < hi ? h("span", { class: "second" }, `${formatTime(lo)} to ${formatTime(hi)}`) : null;
  const answers = [["Try", remedy], ["Check", h("code", {}, check)]].map(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]);
  return h("li", {},
    h("p", { class: "worth" }, h("b", {}, formatTime(worth)), ` ${per}`, range),
    h("div", {}, h("h3", {}, `${title}.`), ...evidence.map((text) => h("p", {}, text)), h("dl", {}, ...answers.flat())));
}
