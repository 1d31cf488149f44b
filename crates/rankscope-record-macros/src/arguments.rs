//! What stands in the parentheses of the attribute: `name = "..."` and `fields(key = value, ...)`, each at most once.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitStr, Result, Signature, Token, parenthesized};

/// The arguments of the attribute.
#[derive(Default)]
pub(crate) struct Arguments {
    name: Option<LitStr>,
    /// As they are written: the recorder's macro reads them.
    fields: Option<TokenStream>,
}

impl Arguments {
    /// What the span is called: the function, if nothing else is said.
    pub(crate) fn name(&self, signature: &Signature) -> LitStr {
        let own = || LitStr::new(signature.ident.to_string().trim_start_matches("r#"), signature.ident.span());
        self.name.clone().unwrap_or_else(own)
    }

    /// The fields as they stand behind the name in the recorder's macros.
    pub(crate) fn fields(&self) -> TokenStream {
        match &self.fields {
            Some(fields) if !fields.is_empty() => quote!(, #fields),
            _ => TokenStream::new(),
        }
    }
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut arguments = Self::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            let twice = || Error::new(key.span(), format!("`{key}` is given twice"));
            if key == "name" {
                input.parse::<Token![=]>()?;
                let earlier = arguments.name.replace(input.parse()?);
                earlier.map_or(Ok(()), |_| Err(twice()))?;
            } else if key == "fields" {
                let fields;
                parenthesized!(fields in input);
                let earlier = arguments.fields.replace(fields.parse()?);
                earlier.map_or(Ok(()), |_| Err(twice()))?;
            } else {
                return Err(Error::new(key.span(), "expected `name = \"...\"` or `fields(key = value, ...)`"));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(arguments: &str) -> String {
        syn::parse_str::<Arguments>(arguments).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_would_be() {
        assert_eq!(refused("skip(x)"), "expected `name = \"...\"` or `fields(key = value, ...)`");
        assert_eq!(refused("name = \"a\", name = \"b\""), "`name` is given twice");
        assert_eq!(refused("name = 5"), "expected string literal");
        assert_eq!(refused("name = \"a\", fields(x = ?x, y = %y),"), "");
    }

    #[test]
    fn the_name_is_the_function_s_unless_another_is_given() {
        let signature: Signature = syn::parse_str("fn r#match()").expect("a signature");
        assert_eq!(Arguments::default().name(&signature).value(), "match");
        let named: Arguments = syn::parse_str("name = \"other\"").expect("arguments");
        assert_eq!(named.name(&signature).value(), "other");
    }
}
