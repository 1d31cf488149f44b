//! The bundler of the page's modules: what it makes of them, and what it refuses; and what is left of style sheets.

#[path = "../build/bundle/mod.rs"]
mod bundle;
#[path = "../build/style.rs"]
mod style;

use std::io;

use bundle::{Bundle, Error, Offence};

/// Bundles modules given as pairs of path and text; the first is the entry.
fn bundled(modules: &[(&str, &str)]) -> Result<Bundle, Error> {
    let read = |path: &str| {
        let found = modules.iter().find(|module| module.0 == path);
        found.map(|module| module.1.to_owned()).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    bundle::bundle(modules[0].0, read)
}

/// The line and what is wrong with it.
fn refused(modules: &[(&str, &str)]) -> (usize, Offence) {
    match bundled(modules) {
        Err(Error::At { line, what, .. }) => (line, what),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_module_comes_once_after_all_that_it_imports() {
    let bundle = bundled(&[
        ("page.js", "import { left } from \"./a/left.js\";\nimport { right } from \"./a/right.js\";\nleft(right);\n"),
        ("a/left.js", "import { base } from \"../base.js\";\nexport const left = () => base;\n"),
        ("a/right.js", "import { base } from \"../base.js\";\nexport function right() { return base; }\n"),
        ("base.js", "export const base = 1;\n"),
    ]);
    let bundle = bundle.unwrap();
    assert_eq!(bundle.modules, ["base.js", "a/left.js", "a/right.js", "page.js"]);
    let script =
        "(()=>{\"use strict\";\nconst base=1;\nconst left=()=>base;\nfunction right(){return base;}\nleft(right);\n})();\n";
    assert_eq!(bundle.script, script);
}

#[test]
fn comments_stay_behind_and_what_looks_like_one_does_not() {
    let text =
        "// For readers.\nexport const a = \"// text\"; // why\nconst b = /[/]\\/\\/x/g;\nconst c = `// ${a /* no */.b}`;\n";
    assert_eq!(refused(&[("page.js", text)]).0, 4, "comments of the other form are refused even in a template");
    let text = text.replace(" /* no */", "");
    let script = bundled(&[("page.js", &text)]).unwrap().script;
    assert!(script.contains("const a=\"// text\";const b=/[/]\\/\\/x/g;const c=`// ${a.b}`;\n"), "{script}");
}

#[test]
fn types_stay_behind() {
    let text = "/** @type {(a: number) => [number, number]} */\nexport const a = (b) => [b, /** @type {number} */ (b)];\n";
    let script = bundled(&[("page.js", text)]).unwrap().script;
    assert!(script.contains("\nconst a=(b)=>[b,(b)];\n"), "{script}");
    assert!(matches!(refused(&[("page.js", "/** open\n")]).1, Offence::Syntax(_)));
}

#[test]
fn white_space_goes_where_it_separates_nothing() {
    for (text, left) in [
        ("const a = b ? .5 : 1;", "const a=b?.5:1;"),
        ("const a = b + +c - -d + 1 - 2;", "const a=b+ +c- -d+1-2;"),
        ("const a = b < !c;", "const a=b< !c;"),
        ("const a = 1 .x / /b/.y;", "const a=1 .x/ /b/.y;"),
        ("const a = typeof b in c;", "const a=typeof b in c;"),
        ("const a = () => {\n  b();\n\n  return [\n    1, // one\n    2,\n  ];\n};", "const a=()=>{b();return[1,2,];};"),
        ("function a() {\n  b\n  c()\n}\na()", "function a(){b\nc()}\na()"),
        ("const a = `  ${ b } c  `;", "const a=`  ${ b } c  `;"),
    ] {
        let script = bundled(&[("page.js", text)]).unwrap().script;
        assert_eq!(script, format!("(()=>{{\"use strict\";\n{left}\n}})();\n"), "{text}");
    }
}

#[test]
fn a_style_sheet_keeps_its_words_and_what_is_quoted() {
    let sheet = "/* For\n readers. */\na > b, .c :hover::after {\n  content: \"a;  } /* b */ \\\"\";\n  width: calc(1px + 2em);\n}\n\n@media (min-width: 3px) and (x) { d { e: f g; } }\n";
    let left =
        "a>b,.c :hover::after{content:\"a;  } /* b */ \\\"\";width:calc(1px + 2em)}@media (min-width:3px) and (x){d{e:f g}}";
    assert_eq!(style::squeezed(sheet), left);
    assert_eq!(style::squeezed("/* open"), "");
    assert_eq!(style::squeezed("a{b:\"open"), "a{b:\"open");
}

#[test]
fn a_circle_names_its_modules() {
    let circle = bundled(&[
        ("page.js", "import { a } from \"./a.js\";\na();\n"),
        ("a.js", "import { b } from \"./b.js\";\nexport const a = () => b;\n"),
        ("b.js", "import { a } from \"./a.js\";\nexport const b = () => a;\n"),
    ]);
    assert_eq!(circle.unwrap_err().to_string(), "modules import each other in a circle: page.js -> a.js -> b.js -> a.js");
}

#[test]
fn a_module_that_is_not_there_is_named() {
    let error = bundled(&[("page.js", "import { a } from \"./gone.js\";\na();\n")]).unwrap_err();
    assert!(error.to_string().starts_with("gone.js: "), "{error}");
}

#[test]
fn a_name_of_another_module_is_imported_or_refused() {
    let other = ("other.js", "const hidden = 1;\nexport const shown = hidden;\nexport const more = 2;\n");
    let page = |use_of: &str| format!("import {{ more }} from \"./other.js\";\n{use_of}\nmore();\n");
    for used in [
        "shown();",
        "f({ shown });",
        "f(...shown);",
        "f(`${x}${shown}`);",
        "const f = (shown) => 1;",
        "x ? shown : y;",
        "hidden;",
    ] {
        let (line, what) = refused(&[("page.js", &page(used)), other]);
        assert!(line == 2 && matches!(what, Offence::NotImported { .. }), "{used}: {what:?}");
    }
    for unused in [
        "x.shown;",
        "x?.shown;",
        "f({ shown: 1, hidden: 2 });",
        "f(\"shown\");",
        "f(`shown ${x} shown`);",
        "f(/shown/);",
        "// shown",
    ] {
        bundled(&[("page.js", &page(unused)), other]).unwrap_or_else(|error| panic!("{unused}: {error}"));
    }
}

#[test]
fn imports_are_of_what_is_exported_and_used() {
    let other = ("other.js", "const hidden = 1;\nexport const shown = hidden;\n");
    let (_, what) = refused(&[("page.js", "import { hidden } from \"./other.js\";\nhidden();\n"), other]);
    assert_eq!(what, Offence::NotExported { name: "hidden".to_owned(), from: "other.js".to_owned() });
    let (_, what) = refused(&[("page.js", "import { shown } from \"./other.js\";\nx.shown();\n"), other]);
    assert_eq!(what, Offence::Unused { name: "shown".to_owned() });
}

#[test]
fn one_name_is_declared_once_in_a_page() {
    let (line, what) = refused(&[
        ("page.js", "import { a } from \"./a.js\";\nconst legend = a;\n"),
        ("a.js", "const legend = 1;\nexport const a = legend;\n"),
    ]);
    assert_eq!((line, what), (2, Offence::DeclaredTwice { name: "legend".to_owned(), first: "a.js".to_owned() }));
}

#[test]
fn a_pure_module_runs_without_a_browser() {
    let used = ("page.js", "import { a } from \"./pure/a.js\";\na();\n");
    let (_, what) = refused(&[used, ("pure/a.js", "export const a = () => document.title;\n")]);
    assert_eq!(what, Offence::Impure { name: "document".to_owned() });
    let (_, what) = refused(&[
        used,
        ("pure/a.js", "import { b } from \"../dom.js\";\nexport const a = b;\n"),
        ("dom.js", "export const b = 1;\n"),
    ]);
    assert_eq!(what, Offence::Impure { name: "dom.js".to_owned() });
    bundled(&[used, ("pure/a.js", "export const a = (x) => x.document;\n")]).unwrap();
}

#[test]
fn what_is_not_understood_is_refused_on_its_line() {
    for text in [
        "import a from \"./a.js\";",
        "import * as a from \"./a.js\";",
        "import { a as b } from \"./a.js\";",
        "import { a } from \"a\";",
        "import { a } from \"./a.js\"",
        "f(); import { a } from \"./a.js\";",
        "f(() => import(\"./a.js\"));",
        "export default 1;",
        "export { a };",
        "export let a = 1;",
        "let a = 1;",
        "const a = 1, b = 2;",
        "const { a } = b;",
        "f(\"open);",
        "f(`open);",
        "f(`two\nlines`);",
        "f(/open);",
        "f(];",
        "f(",
        "f)",
        "/* block */",
    ] {
        let (line, what) = refused(&[("page.js", &format!("\n{text}"))]);
        assert!(line >= 2 && matches!(what, Offence::Syntax(_)), "{text}: {line} {what:?}");
    }
}
