//! JavaScript as tokens: enough to tell names from text, comments and regular expressions.
//!
//! No grammar. A slash begins a regular expression unless a value ends right before it, which holds for all code that does not
//! put one after a closing brace.

use super::error::{Error, Offence};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word,
    /// What stands between quotes, without them.
    Text,
    /// A number, a regular expression, or a piece of a template.
    Literal,
    Sign(char),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Of its first byte.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) line: usize,
    /// Brackets of any sort that are open around it.
    pub(super) depth: usize,
}

/// The tokens of a module. Comments are none.
pub(super) fn lex<'a>(path: &str, text: &'a str) -> Result<Vec<Token<'a>>, Error> {
    let mut lexer = Lexer { text, at: 0, line: 1, brackets: Vec::new(), tokens: Vec::new() };
    while let Some(c) = lexer.peek(0) {
        lexer.next(c).map_err(|what| Error::at(path, lexer.line, Offence::Syntax(what)))?;
    }
    match lexer.brackets.pop() {
        Some(_) => Err(Error::at(path, lexer.line, Offence::Syntax("a bracket is never closed"))),
        None => Ok(lexer.tokens),
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    /// Open brackets; a `$` is one of a template.
    brackets: Vec<char>,
    tokens: Vec<Token<'a>>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text[self.at..].chars().nth(ahead)
    }

    fn next(&mut self, c: char) -> Result<(), &'static str> {
        match c {
            '/' if self.peek(1) == Some('/') => self.comment("\n"),
            '/' if self.text[self.at..].starts_with("/** ") => self.types()?,
            '/' if self.peek(1) == Some('*') => return Err("a comment begins with //, or with /** where it says types"),
            '/' if !self.follows_value() => self.regex()?,
            '"' | '\'' => self.quoted(c)?,
            '`' => self.template(1)?,
            '}' if self.brackets.last() == Some(&'$') => {
                self.brackets.pop();
                self.template(1)?;
            }
            _ if c.is_whitespace() => self.skip(c.len_utf8()),
            _ if c.is_ascii_digit() => self.push_while(Kind::Literal, |c| c.is_alphanumeric() || c == '.'),
            _ if is_word(c) => self.push_while(Kind::Word, is_word),
            _ => self.sign(c)?,
        }
        Ok(())
    }

    fn skip(&mut self, bytes: usize) {
        self.line += self.text[self.at..self.at + bytes].matches('\n').count();
        self.at += bytes;
    }

    fn push(&mut self, kind: Kind, bytes: usize) {
        let text = &self.text[self.at..self.at + bytes];
        let text = if kind == Kind::Text { &text[1..bytes - 1] } else { text };
        let (start, line, depth) = (self.at, self.line, self.brackets.len());
        self.tokens.push(Token { kind, text, start, end: start + bytes, line, depth });
        self.skip(bytes);
    }

    fn push_while(&mut self, kind: Kind, holds: impl Fn(char) -> bool) {
        let rest = &self.text[self.at..];
        self.push(kind, rest.find(|c| !holds(c)).unwrap_or(rest.len()));
    }

    fn comment(&mut self, until: &str) {
        let rest = &self.text[self.at..];
        let bytes = rest.find(until).unwrap_or(rest.len());
        self.skip(bytes);
    }

    /// What the checker of types reads, and nobody else.
    fn types(&mut self) -> Result<(), &'static str> {
        let bytes = self.text[self.at..].find("*/").ok_or("a comment is never closed")? + 2;
        self.skip(bytes);
        Ok(())
    }

    fn sign(&mut self, c: char) -> Result<(), &'static str> {
        if ")]}".contains(c) {
            let open = self.brackets.pop().ok_or("a bracket is closed that was not opened")?;
            if !matches!((open, c), ('(', ')') | ('[', ']') | ('{', '}')) {
                return Err("a bracket is closed by one of another sort");
            }
        }
        self.push(Kind::Sign(c), c.len_utf8());
        if "([{".contains(c) {
            self.brackets.push(c);
        }
        Ok(())
    }

    fn quoted(&mut self, quote: char) -> Result<(), &'static str> {
        let end = self.ending(1, |c| c == quote).ok_or("a text is never closed")?;
        self.push(Kind::Text, end + 1);
        Ok(())
    }

    /// A piece of a template, from its backtick or the brace that closes an expression, up to the next such.
    fn template(&mut self, from: usize) -> Result<(), &'static str> {
        let rest = self.text[self.at..].to_owned();
        let mut begin = from;
        loop {
            let end = self.ending(begin, |c| c == '`' || c == '$' || c == '\n').ok_or("a template is never closed")?;
            if rest[end..].starts_with('\n') {
                return Err("a template ends on the line it begins on; write \\n for a new one");
            }
            if rest[end..].starts_with('`') {
                self.push(Kind::Literal, end + 1);
                return Ok(());
            }
            if rest[end..].starts_with("${") {
                self.push(Kind::Literal, end + 2);
                self.brackets.push('$');
                return Ok(());
            }
            begin = end + 1;
        }
    }

    fn regex(&mut self) -> Result<(), &'static str> {
        let mut in_class = false;
        let end = self.ending(1, |c| {
            in_class = (in_class || c == '[') && c != ']';
            c == '/' && !in_class || c == '\n'
        });
        let end =
            end.filter(|end| self.text[self.at + end..].starts_with('/')).ok_or("a regular expression is never closed")?;
        let flags = self.text[self.at + end + 1..].chars().take_while(char::is_ascii_lowercase).count();
        self.push(Kind::Literal, end + 1 + flags);
        Ok(())
    }

    /// Bytes from here to the first character that `is` the end and has no backslash before it.
    fn ending(&self, from: usize, mut is: impl FnMut(char) -> bool) -> Option<usize> {
        let mut escaped = false;
        self.text[self.at + from..].char_indices().find_map(|(i, c)| {
            let found = !escaped && is(c);
            escaped = !escaped && c == '\\';
            found.then_some(from + i)
        })
    }

    fn follows_value(&self) -> bool {
        match self.tokens.last() {
            Some(Token { kind: Kind::Word, text, .. }) => !matches!(*text, "return" | "typeof" | "case" | "in" | "of"),
            Some(Token { kind: Kind::Sign(c), .. }) => ")]}".contains(*c),
            Some(_) => true,
            None => false,
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || c == '#'
}
