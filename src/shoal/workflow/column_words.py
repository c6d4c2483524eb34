"""The words of a column's name, and those that speak of people, numbers of people and places."""

from __future__ import annotations

import re
import unicodedata


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words for names and contact data of people, in the languages of our users' column headers.
_NAMING_WORDS = _listed(
    """
    name names fullname firstname lastname forename surname maidenname nickname username login
    email mail phone telephone mobile fax ssn passport address street iban licence license plate
    ip url twitter facebook instagram nhs medicare
    vorname nachname familienname geburtsname telefon handy handynummer strasse anschrift adresse
    ausweis personalausweis steuernummer sozialversicherungsnummer versichertennummer
    nom prenom courriel portable rue passeport nir nss
    nombre nombres apellido apellidos correo telefono movil direccion calle pasaporte dni nie nif
    curp rut cedula
    nome cognome cellulare indirizzo codicefiscale passaporto sobrenome endereco cpf
    naam voornaam achternaam telefoon adres straat bsn
    namn fornamn efternamn personnummer navn fornavn etternavn efternavn cpr fodselsnummer
    imie nazwisko pesel jmeno prijmeni ulice rodnecislo nev vezeteknev keresztnev
    isim soyad adi soyadi tckn
    имя фамилия отчество телефон адрес почта паспорт снилс инн
    """
)
_NAMING_PARTS = tuple("姓名 名前 氏名 电话 電話 地址 住所 身份证 이름 전화 주소".split())  # noqa: SIM905
_THINGS_WITH_NAMES = _listed(
    """
    country city town region state province county district company firm brand product hospital
    clinic ward school university drug medication disease species variable event course type
    """
)
# Words for identifiers of rows or people; many columns of codes have them too.
NUMBERING_WORDS = _listed(
    """
    id ids uid uuid guid pid identifier no nr num number nummer numero numer key index idx row
    record ref reference account konto kontonummer case file patient person client customer
    member employee student respondent subject participant household matricule matrikelnummer
    kennung schluessel identifiant identificador chave nyckel номер код
    """
)
_POSTCODE_WORDS = _listed(
    """
    zip zipcode postcode postal postalcode plz postleitzahl cp codepostal codigopostal cap cep
    postnummer postnr psc irsz индекс
    """
)


def naming_word(column: str) -> str | None:
    """Return the word in a column's name that suggests what names a person; None without one.

    Examples
    --------
    >>> naming_word("homePhone_2"), naming_word("Straße"), naming_word("country_name")
    ('phone', 'strasse', None)
    """
    words = words_of(column)
    if any(word in _THINGS_WITH_NAMES for word in words):
        return None
    for word in words:
        if word in _NAMING_WORDS:
            return word
    return next((part for part in _NAMING_PARTS if part in column), None)


def has_postcode_name(column: str) -> bool:
    """Return whether a column's name speaks of postcodes."""
    words = words_of(column)
    return any(word in _POSTCODE_WORDS for word in [*words, "".join(words)])


def words_of(column: str) -> list[str]:
    """Split a name such as `homePhone_2` into words, without accents."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column)
    plain = unicodedata.normalize("NFKD", parted.casefold().replace("ß", "ss"))
    bare = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = re.findall(r"[^\W\d_]+", bare)
    return [*words, "".join(words)]
