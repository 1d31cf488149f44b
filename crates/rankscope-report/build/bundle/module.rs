//! One module: what it imports, declares and uses, and its text without imports, exports and comments.

use super::error::{Error, Offence};
use super::lexer::{Kind, Token, lex};
use super::squeeze::squeezed;

/// Names of the browser that a module under `pure/` has no business with.
const BROWSER: [&str; 16] = [
    "document",
    "window",
    "globalThis",
    "self",
    "navigator",
    "location",
    "getComputedStyle",
    "matchMedia",
    "devicePixelRatio",
    "innerWidth",
    "innerHeight",
    "addEventListener",
    "requestAnimationFrame",
    "setTimeout",
    "console",
    "fetch",
];

#[derive(Debug)]
pub(super) struct Module {
    pub(super) path: String,
    /// As it goes into the page.
    pub(super) script: String,
    pub(super) imports: Vec<Import>,
    /// Names at the top of the module.
    pub(super) declared: Vec<Name>,
    /// Words that may stand for a variable: no properties, no keys.
    pub(super) uses: Vec<Name>,
}

#[derive(Debug)]
pub(super) struct Import {
    pub(super) from: String,
    pub(super) names: Vec<Name>,
}

#[derive(Debug)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) line: usize,
    pub(super) exported: bool,
}

impl Module {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, Error> {
        let tokens = lex(path, text)?;
        let mut parser = Parser { path, tokens: &tokens, at: 0, dropped: Vec::new() };
        let imports = parser.imports()?;
        let body = &tokens[parser.at..];
        let declared = parser.declared()?;
        let uses = uses(body);
        let script = squeezed(text, &tokens, &parser.dropped);
        let module = Self { path: path.to_owned(), script, imports, declared, uses };
        module.check_pure()?;
        Ok(module)
    }

    fn check_pure(&self) -> Result<(), Error> {
        if !self.path.starts_with(PURE) {
            return Ok(());
        }
        let foreign = self.imports.iter().find(|import| !import.from.starts_with(PURE));
        let foreign = foreign.map(|import| (import.from.clone(), import.names.first().map_or(1, |name| name.line)));
        let browser = self.uses.iter().find(|used| BROWSER.contains(&used.text.as_str()));
        match foreign.or_else(|| browser.map(|used| (used.text.clone(), used.line))) {
            Some((name, line)) => Err(Error::at(&self.path, line, Offence::Impure { name })),
            None => Ok(()),
        }
    }
}

const PURE: &str = "pure/";

struct Parser<'a> {
    path: &'a str,
    tokens: &'a [Token<'a>],
    at: usize,
    /// Byte ranges that are not in the script.
    dropped: Vec<(usize, usize)>,
}

impl<'a> Parser<'a> {
    fn refuse<T>(&self, at: usize, instead: &'static str) -> Result<T, Error> {
        let line = self.tokens.get(at).or(self.tokens.last()).map_or(1, |token| token.line);
        Err(Error::at(self.path, line, Offence::Syntax(instead)))
    }

    fn word(&self, at: usize) -> Option<&'a str> {
        self.tokens.get(at).filter(|token| token.kind == Kind::Word).map(|token| token.text)
    }

    fn is_sign(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Kind::Sign(sign))
    }

    /// The imports that the module begins with.
    fn imports(&mut self) -> Result<Vec<Import>, Error> {
        let mut imports = Vec::new();
        while self.word(self.at) == Some("import") {
            let begin = self.tokens[self.at].start;
            imports.push(self.import()?);
            self.dropped.push((begin, self.tokens[self.at - 1].end));
        }
        Ok(imports)
    }

    fn import(&mut self) -> Result<Import, Error> {
        const FORM: &str = "write: import { name, other } from \"./module.js\";";
        let mut names = Vec::new();
        let mut at = self.at + 1;
        if !self.is_sign(at, '{') {
            return self.refuse(at, FORM);
        }
        while !self.is_sign(at, '}') {
            let Some(text) = self.word(at + 1) else { return self.refuse(at, FORM) };
            names.push(Name { text: text.to_owned(), line: self.tokens[at].line, exported: false });
            at += 2;
            if !self.is_sign(at, ',') && !self.is_sign(at, '}') {
                return self.refuse(at, FORM);
            }
        }
        let text = self.tokens.get(at + 2).filter(|token| token.kind == Kind::Text);
        let (Some("from"), Some(text), true) = (self.word(at + 1), text, self.is_sign(at + 3, ';')) else {
            return self.refuse(at, FORM);
        };
        let Some(from) = resolved(self.path, text.text) else { return self.refuse(at, FORM) };
        self.at = at + 4;
        Ok(Import { from, names })
    }

    /// The names declared outside all brackets. Drops the word `export` before them.
    fn declared(&mut self) -> Result<Vec<Name>, Error> {
        let mut names = Vec::new();
        for at in self.at..self.tokens.len() {
            let token = self.tokens[at];
            match (token.kind, token.text, token.depth) {
                (Kind::Word, "import", _) => return self.refuse(at, "imports come first, and there are no others"),
                (Kind::Word, "var" | "let" | "class", 0) => return self.refuse(at, "at the top there are const and function"),
                (Kind::Sign(','), _, 0) => return self.refuse(at, "declare one name at a time"),
                (Kind::Word, "export", _) => {
                    if token.depth > 0 || !matches!(self.word(at + 1), Some("const" | "function")) {
                        return self.refuse(at, "export a const or a function where it is declared");
                    }
                    self.dropped.push((token.start, self.tokens[at + 1].start));
                }
                (Kind::Word, "const" | "function", 0) => {
                    let Some(text) = self.word(at + 1) else { return self.refuse(at, "declare one name at a time") };
                    let exported = at > self.at && self.word(at - 1) == Some("export");
                    names.push(Name { text: text.to_owned(), line: token.line, exported });
                }
                _ => {}
            }
        }
        Ok(names)
    }
}

/// The path that an import names, from the folder of all modules.
fn resolved(importer: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = importer.split('/').collect();
    parts.pop();
    let (first, _) = target.split_once('/')?;
    if first != "." && first != ".." {
        return None;
    }
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn uses(tokens: &[Token<'_>]) -> Vec<Name> {
    let sign = |at: Option<usize>| {
        at.and_then(|at| tokens.get(at)).map_or(' ', |token| if let Kind::Sign(c) = token.kind { c } else { ' ' })
    };
    let is_use = |at: usize| {
        let (before, second, after) = (sign(at.checked_sub(1)), sign(at.checked_sub(2)), sign(Some(at + 1)));
        let property = before == '.' && second != '.';
        let key = after == ':' && (before == '{' || before == ',');
        tokens[at].kind == Kind::Word && !property && !key
    };
    let named = |at: usize| Name { text: tokens[at].text.to_owned(), line: tokens[at].line, exported: false };
    (0..tokens.len()).filter(|&at| is_use(at)).map(named).collect()
}
