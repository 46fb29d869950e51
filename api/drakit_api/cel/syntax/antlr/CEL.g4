// CEL as cel-go v0.29 has ANTLR read it, for the words of syntax errors: which rule is left where, and which tokens
// may come next, is in the messages. So the rules, the order of their alternatives and the order of the tokens are
// those of its parser/gen/CEL.g4. What is right is parsed by grammar.lark; this grammar is only for what is not.
//
// In this folder, with ANTLR 4.13.2 (org.antlr:antlr4, needs Java):
//   java -jar antlr4-4.13.2-complete.jar -Dlanguage=Python3 -no-listener CEL.g4 && rm *.interp *.tokens

grammar CEL;

start : expr EOF ;

expr           : conditionalOr ('?' conditionalOr ':' expr)? ;
conditionalOr  : conditionalAnd ('||' conditionalAnd)* ;
conditionalAnd : relation ('&&' relation)* ;
relation       : calc | relation ('<' | '<=' | '>=' | '>' | '==' | '!=' | 'in') relation ;
calc           : unary | calc ('*' | '/' | '%') calc | calc ('+' | '-') calc ;
unary          : member | '!'+ member | '-'+ member ;

member
    : primary
    | member '.' '?'? escapeIdent
    | member '.' IDENTIFIER '(' exprList? ')'
    | member '[' '?'? expr ']'
    ;

// Variables and functions have names that may be reserved.
primary
    : '.'? name=IDENTIFIER                                                          # Variable
    | '.'? name=IDENTIFIER '(' exprList? ')'                                        # Function
    | '(' expr ')'                                                                  # Parenthesized
    | '[' listInit? ','? ']'                                                        # List
    | '{' mapInitializerList? ','? '}'                                              # Map
    | '.'? IDENTIFIER ('.' IDENTIFIER)* '{' fieldInitializerList? ','? '}'          # Message
    | literal                                                                       # Constant
    ;

exprList             : expr (',' expr)* ;
listInit             : optExpr (',' optExpr)* ;
fieldInitializerList : optField ':' expr (',' optField ':' expr)* ;
optField             : '?'? escapeIdent ;
mapInitializerList   : optExpr ':' expr (',' optExpr ':' expr)* ;
escapeIdent          : IDENTIFIER # Plain | ESC_IDENTIFIER # Escaped ;
optExpr              : '?'? expr ;

literal
    : '-'? NUM_INT
    | NUM_UINT
    | '-'? NUM_FLOAT
    | STRING
    | BYTES
    | 'true'
    | 'false'
    | 'null'
    ;

EQUALS         : '==' ;
NOT_EQUALS     : '!=' ;
IN             : 'in' ;
LESS           : '<' ;
LESS_EQUALS    : '<=' ;
GREATER_EQUALS : '>=' ;
GREATER        : '>' ;
AND            : '&&' ;
OR             : '||' ;
LEFT_BRACKET   : '[' ;
RIGHT_BRACKET  : ']' ;
LEFT_BRACE     : '{' ;
RIGHT_BRACE    : '}' ;
LEFT_PAREN     : '(' ;
RIGHT_PAREN    : ')' ;
DOT            : '.' ;
COMMA          : ',' ;
MINUS          : '-' ;
NOT            : '!' ;
QUESTION_MARK  : '?' ;
COLON          : ':' ;
PLUS           : '+' ;
TIMES          : '*' ;
DIVIDED        : '/' ;
REMAINDER      : '%' ;
TRUE           : 'true' ;
FALSE          : 'false' ;
NULL           : 'null' ;

BLANK   : [\t \r\n\f]+ -> channel(HIDDEN) ;
COMMENT : '//' ~'\n'* -> channel(HIDDEN) ;

NUM_FLOAT : Digit+ '.' Digit+ Exponent? | Digit+ Exponent | '.' Digit+ Exponent? ;
NUM_INT   : Digit+ | '0x' HexDigit+ ;
NUM_UINT  : (Digit+ | '0x' HexDigit+) [uU] ;

STRING
    : '"' (Escape | ~[\\"\n\r])* '"'
    | '\'' (Escape | ~[\\'\n\r])* '\''
    | '"""' (Escape | ~'\\')*? '"""'
    | '\'\'\'' (Escape | ~'\\')*? '\'\'\''
    | [rR] '"' ~["\n\r]* '"'
    | [rR] '\'' ~['\n\r]* '\''
    | [rR] '"""' .*? '"""'
    | [rR] '\'\'\'' .*? '\'\'\''
    ;
BYTES : [bB] STRING ;

IDENTIFIER     : [A-Za-z_] [A-Za-z0-9_]* ;
ESC_IDENTIFIER : '`' [A-Za-z0-9_.\-/ ]+ '`' ;

fragment Digit    : [0-9] ;
fragment HexDigit : [0-9a-fA-F] ;
fragment Exponent : [eE] [+\-]? Digit+ ;
fragment Escape
    : '\\' [abfnrtv"'\\?`]
    | '\\' [xX] HexDigit HexDigit
    | '\\u' HexDigit HexDigit HexDigit HexDigit
    | '\\U' HexDigit HexDigit HexDigit HexDigit HexDigit HexDigit HexDigit HexDigit
    | '\\' [0-3] [0-7] [0-7]
    ;
